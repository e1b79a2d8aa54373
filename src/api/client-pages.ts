import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '#lib/package-root.ts'
import type { Page } from './outside-routes.ts'
import { staticPage } from './static-page.ts'

/** The typed client as one module and its types, which Deno finds by the header. */
export function clientPages(): readonly Page[] {
  const read = (name: string) => () => readFile(join(PACKAGE_ROOT, 'dist/client', name), 'utf8')
  return [
    staticPage({
      path: '/client.js',
      contentType: 'text/javascript; charset=utf-8',
      text: read('client.js'),
      headers: ['X-TypeScript-Types', '/client.d.ts'],
    }),
    staticPage({
      path: '/client.d.ts',
      contentType: 'application/typescript; charset=utf-8',
      text: read('client.d.ts'),
    }),
  ]
}
