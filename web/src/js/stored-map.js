// A map in localStorage; beyond `atMost` entries the oldest are dropped.
export function storedMap(name, atMost = 300) {
  const key = `reedbed:${name}`;
  const pending = new Map(); // written together: thousands of rows may be marked at once
  const all = () => {
    const map = stored(key);
    for (const [id, value] of pending) {
      map.delete(id);
      if (value !== undefined) map.set(id, value);
    }
    return map;
  };
  const write = () => {
    localStorage.setItem(key, JSON.stringify([...all()].slice(-atMost)));
    pending.clear();
  };
  return {
    all,
    get: (id) => all().get(id),
    set(id, value) {
      if (!pending.size) queueMicrotask(write);
      pending.set(id, value);
    },
    clear: () => localStorage.removeItem(key),
  };
}

function stored(key) {
  try {
    return new Map(JSON.parse(localStorage.getItem(key) ?? "[]"));
  } catch {
    return new Map();
  }
}
