// Shows notifications that the server pushes to this browser. It keeps nothing, and intercepts no requests.
self.addEventListener("push", event => {
  const { title = "Parlance", body = "", tag } = event.data?.json() ?? {};
  event.waitUntil(self.registration.showNotification(title, { body, tag }));
});

self.addEventListener("notificationclick", event => {
  event.notification.close();
  const open = async () => {
    const [page] = await self.clients.matchAll({ type: "window" });
    return page ? page.focus() : self.clients.openWindow("./");
  };
  event.waitUntil(open());
});
