"use strict";
(function () {
  // Uploads: one file after the other, as they are; a page that goes on names those that arrived.
  const form = document.getElementById("upload");
  if (form) {
    const says = document.getElementById("uploading");
    const csrf = document.querySelector('meta[name="csrf"]').content;
    const send = (file) => new Promise((done, fail) => {
      const request = new XMLHttpRequest();
      request.open("POST", form.dataset.to + "?name=" + encodeURIComponent(file.name));
      request.setRequestHeader("X-CSRF", csrf);
      request.setRequestHeader("Accept", "application/json");
      request.setRequestHeader("Content-Type", "application/octet-stream");
      request.upload.onprogress = (event) => {
        if (event.lengthComputable) {
          says.textContent = file.name + ": " + Math.floor(100 * event.loaded / event.total) + " %";
        }
      };
      request.onload = () => request.status === 200 ? done(file.name) : fail(request.responseText);
      request.onerror = () => fail("the upload has stopped");
      request.send(file);
    });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const arrived = [];
      try {
        for (const file of form.elements.file.files) arrived.push(await send(file));
      } catch (why) {
        says.textContent = String(why);
        return;
      }
      const chosen = arrived.map((name) => "chosen=" + encodeURIComponent(name));
      location.assign("/?" + ["said=uploaded", ...chosen].join("&"));
    });
  }
  // Text that is not saved is not lost by mistake.
  const changed = new Set();
  document.addEventListener("input", (event) => {
    const form = event.target.closest("form[method=post]");
    if (form) changed.add(form);
  });
  // Who saves one form is asked about another.
  document.addEventListener("submit", (event) => { changed.delete(event.target); });
  window.addEventListener("beforeunload", (event) => { if (changed.size) event.preventDefault(); });
})();
