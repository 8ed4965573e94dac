import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// No inline scripts or styles: the content security policy of the server forbids them.
export default defineConfig({
  plugins: [svelte()],
  // `npm run dev` forwards API requests to a running `menace dashboard --port 8002`, or to the address in MENACE.
  server: { proxy: { "/api": { target: process.env["MENACE"] ?? "http://127.0.0.1:8002", changeOrigin: true, ws: true } } },
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: true },
});
