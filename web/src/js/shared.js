// What the page and the parts that come later share, so that it is one file: else each set of parts would get its own.
import "./announce.js";
import "./dom.js";
import "./focus.js";
import "./htmx.js";
import "./i18n.js";
import "./player-start.js";
import "./requests.js";
import "./share.js";
import "./templates.js";
import "./toast.js";
import "./zone.js";
