// Pages around reading use htmx from the start; a list loads it with the first article (js/htmx.js).
import "./js/shared.js";
import "./js/htmx-library.js";
import "./js/feeds.js";
import "./js/passkeys.js";
import "./js/push.js";
import "./js/picking.js";
