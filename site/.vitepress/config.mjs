import { menuOf, readSitePages } from '../../tools/site-pages.ts'

export default {
  title: 'Sexton',
  description: "Public REST API for a token ecosystem's on-chain data",
  // A path where the site is not at the root of its host.
  base: process.env.SITE_BASE ?? '/',
  srcDir: 'pages',
  outDir: 'dist',
  cacheDir: '.cache',
  cleanUrls: true,
  ignoreDeadLinks: 'localhostLinks',
  // A word in angle brackets is meant as it stands.
  markdown: { html: false },
  vite: { build: { chunkSizeWarningLimit: 2_000 } },
  themeConfig: {
    nav: [
      { text: 'API reference', link: '/reference.html', target: '_self' },
      { text: 'Changelog', link: '/changelog' },
    ],
    sidebar: menuOf(await readSitePages()),
    search: { provider: 'local' },
    outline: 'deep',
  },
}
