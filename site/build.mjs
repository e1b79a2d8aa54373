import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { build } from 'vitepress'
import { readScript } from '../src/api/document-pages.ts'
import { localDocument } from '../tools/local-document.ts'
import { readSitePages } from '../tools/site-pages.ts'

const PAGES = join(import.meta.dirname, 'pages')

const REFERENCE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Sexton API</title>
  </head>
  <body>
    <div id="app"></div>
    <script src="scalar.js"></script>
    <script>
      Scalar.createApiReference('#app', {
        url: 'openapi.json',
        withDefaultFonts: false,
        telemetry: false,
        hideClientButton: true,
        hideTestRequestButton: true,
        showDeveloperTools: 'never',
        agent: { disabled: true },
        mcp: { disabled: true },
      })
    </script>
  </body>
</html>
`

async function put(path, text) {
  const file = join(PAGES, path)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text)
}

await rm(PAGES, { recursive: true, force: true })
for (const { path, text } of await readSitePages()) await put(path, text)
await put('public/openapi.json', JSON.stringify(await localDocument()))
await put('public/scalar.js', await readScript())
await put('public/reference.html', REFERENCE)
await cp(join(PAGES, '../../docs/images'), join(PAGES, 'public/images'), { recursive: true })
// Fails on a link that leads nowhere.
await build(import.meta.dirname)
process.exit()
