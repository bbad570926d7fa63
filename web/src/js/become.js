/** Make an element of the page like a fresh one, touching only what differs: what stays is not drawn again. */
export function become(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeName !== fresh.nodeName || old.childNodes.length !== fresh.childNodes.length)
    return void old.replaceWith(fresh);
  if (!old.attributes) return void (old.data = fresh.data);
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes)
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const children = [...fresh.childNodes];
  [...old.childNodes].forEach((child, place) => become(child, children[place]));
}
