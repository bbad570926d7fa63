// Small things worth remembering per entry, the oldest forgotten first.
const AT_MOST = 300;

export function memory(name) {
  const key = `reedbed:${name}`;
  const read = () => {
    try {
      return new Map(JSON.parse(localStorage.getItem(key) ?? "[]"));
    } catch {
      return new Map();
    }
  };
  return {
    get: (id) => read().get(id),
    set(id, value) {
      const all = read();
      all.delete(id);
      if (value !== undefined) all.set(id, value);
      localStorage.setItem(key, JSON.stringify([...all].slice(-AT_MOST)));
    },
  };
}
