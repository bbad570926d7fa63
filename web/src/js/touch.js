// What a finger does in a list: rows slide, and the list is pulled down.
import "./shared.js";
import "./swipe.js";
import "./pull.js";
