// Keeps the shell and what was opened, so that it can be read without a network. Nothing here ever changes an answer.
const SHELL = "reedbed-shell-1";
const READ = "reedbed-read-1";
const READ_AT_MOST = 300;
const HASHED = /^\/assets\/.*-[A-Z0-9]{8}\.\w+$/;
const CHUNKS = []; // the build puts the names of all chunks here
const ALONE = new Set(["/icons.css", "/sidebar/templates", "/themes.css"]);
const PARTS = new Set(["article", "list", "rows"]);

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open(SHELL)
      .then((cache) => cache.add("/offline"))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => {
  event.waitUntil(forgetOldCaches().then(() => self.clients.claim()));
});

self.addEventListener("message", (event) => {
  if (event.data?.keep) event.waitUntil(keepShell(event.data.keep));
  if (event.data?.pages) event.waitUntil(keepPages(event.data.pages));
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (url.origin !== location.origin) return;
  if (request.method === "POST" && url.pathname === "/logout") event.waitUntil(caches.delete(READ));
  if (request.method !== "GET" || url.pathname.startsWith("/api/")) return;
  if (HASHED.test(url.pathname)) event.respondWith(keptFirst(request));
  else if (request.mode === "navigate") event.respondWith(networkFirst(request, url.href));
  else if (PARTS.has(request.headers.get("HX-Target")))
    event.respondWith(networkFirst(request, partKey(request, url)));
  else if (request.destination === "image" || ALONE.has(url.pathname) || url.pathname.startsWith("/assets/"))
    event.respondWith(networkFirst(request, url.href));
});

self.addEventListener("push", (event) => {
  const news = event.data?.json() ?? {};
  event.waitUntil(
    self.registration.showNotification(news.title ?? "Reedbed", {
      body: news.body,
      tag: news.tag,
      data: { url: news.url ?? "/unread" },
    }),
  );
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(self.clients.openWindow(event.notification.data.url));
});

// These carry their hash in the name: what is kept can never be stale.
async function keptFirst(request) {
  const kept = await caches.match(request);
  if (kept) return kept;
  const response = await fetch(request);
  if (response.ok) (await caches.open(SHELL)).put(request, response.clone());
  return response;
}

async function networkFirst(request, key) {
  try {
    const response = await fetch(request);
    if (response.ok && !response.redirected) await keep(key, response.clone());
    return response;
  } catch {
    return (await caches.match(key)) ?? (await otherwise(request));
  }
}

async function otherwise(request) {
  if (request.mode !== "navigate") return new Response(null, { status: 504 }); // the page takes it for `offline`
  return (await listOf(request)) ?? caches.match("/offline", { ignoreSearch: true });
}

/** An entry whose text was kept is opened by its list, if that was kept as well. */
async function listOf(request) {
  const url = new URL(request.url);
  const [view, id] = url.pathname.split("/entry/");
  const text = new URL(url);
  text.searchParams.set("part", "article");
  if (!view || !id || !(await caches.match(text.href))) return undefined;
  return caches.match(new URL(view, url).href);
}

/** The same address answers a page or a part of it, so a part is kept under a name of its own. */
function partKey(request, url) {
  const key = new URL(url);
  key.searchParams.set("part", request.headers.get("HX-Target"));
  return key.href;
}

async function keep(key, response) {
  const cache = await caches.open(READ);
  await cache.put(key, response);
  const keys = await cache.keys();
  await Promise.all(keys.slice(0, Math.max(0, keys.length - READ_AT_MOST)).map((old) => cache.delete(old)));
}

async function keepShell(addresses) {
  const cache = await caches.open(SHELL);
  const shell = [...addresses, ...CHUNKS.map((name) => new URL(`/assets/${name}`, location).href)];
  const wanted = new Set(shell);
  await Promise.all(shell.map(async (address) => (await cache.match(address)) ?? cache.add(address)));
  for (const kept of await cache.keys()) if (!wanted.has(kept.url)) await cache.delete(kept);
}

/** The page that was open before there was a worker. */
async function keepPages(addresses) {
  for (const address of addresses) await networkFirst(new Request(address), address).catch(() => {});
}

async function forgetOldCaches() {
  const names = await caches.keys();
  await Promise.all(
    names.filter((name) => name !== SHELL && name !== READ).map((name) => caches.delete(name)),
  );
}
