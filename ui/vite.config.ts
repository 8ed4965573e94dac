import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// Nothing is inline: the policy of the page (guard.rs) forbids it.
export default defineConfig({
  plugins: [svelte()],
  // `npm run dev` asks a menace that serves elsewhere, such as `menace dashboard --port 8002`.
  server: { proxy: { "/api": { target: process.env["MENACE"] ?? "http://127.0.0.1:8002", changeOrigin: true, ws: true } } },
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: true },
});
