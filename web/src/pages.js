// Pages around reading use htmx from the start; a list loads it with the first article (js/htmx.js).
import "./js/htmx-library.js";
import "./js/picking.js";
