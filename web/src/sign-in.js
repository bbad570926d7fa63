// Pages before one is logged in, and the one that asks again who one is.
import "./js/shared.js";
import "./js/passkeys.js";
