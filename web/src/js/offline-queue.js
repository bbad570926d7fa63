// Marks made without a network, kept in the browser until they can be sent. The newest of a kind wins,
// and since marks set and never toggle, sending one twice does no harm.
const STORE = "marks";

export async function keepForLater(mark) {
  await request("readwrite", (store) => store.put(mark, `${mark.id}:${mark.what}`));
  document.dispatchEvent(new CustomEvent("reedbed:queued"));
}

export async function waiting() {
  return request("readonly", (store) => store.getAll());
}

export async function forget(mark) {
  await request("readwrite", (store) => store.delete(`${mark.id}:${mark.what}`));
}

async function request(mode, ask) {
  const database = await opened();
  return new Promise((resolve, reject) => {
    const asked = ask(database.transaction(STORE, mode).objectStore(STORE));
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });
}

let database;
function opened() {
  database ??= new Promise((resolve, reject) => {
    const asked = indexedDB.open("reedbed", 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore(STORE);
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });
  return database;
}
