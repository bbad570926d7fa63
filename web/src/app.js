import "./js/shared.js";
