// A page that is opened from a disk may start no Worker. This class gives the search's script a hidden frame to run in instead,
// with the few functions of a Worker that it calls.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", {data}));
      const load = (source) => new Promise((loaded, failed) => {
        const script = this.inside.document.createElement("script");
        script.src = source;
        script.onload = loaded;
        script.onerror = failed;
        this.inside.document.head.appendChild(script);
      });
      this.inside.importScripts = (...sources) => sources.reduce((done, source) => done.then(() => load(source)), Promise.resolve());
      this.loaded = load(url);
    }
    postMessage(data) {
      this.loaded.then(() => this.inside.dispatchEvent(new MessageEvent("message", {data})));
    }
  };
}
