// Imported first: htmx looks for itself on the window.
import htmx from "htmx.org";

window.htmx = htmx;

export default htmx;
