// What comes with the first act on the page: menus, the sidebar's acts, and the palette. See parts.js.
import "./shared.js";
import "./menu-panel.js";
import "./palette.js";
import "./tree-menus.js";
import "./tree-drag.js";
import "./tree-trouble.js";
