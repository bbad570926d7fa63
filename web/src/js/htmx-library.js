import htmx from "htmx.org";

window.htmx = htmx; // it looks for itself there

export default htmx;
