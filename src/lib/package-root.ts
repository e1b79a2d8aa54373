import assert from 'node:assert/strict'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const manifest = findPackageJSON(import.meta.url)
assert(manifest !== undefined, 'every file of this package lies below its package.json')

/** Above both `src/` and `dist/`. */
export const PACKAGE_ROOT = dirname(manifest)

/**
 * A file that is loaded by its path, such as the first one of a thread, named as in `src/` without its
 * ending: the source, or what was built of it where that is what runs.
 */
export function moduleFile(name: string): URL {
  const isBuilt = import.meta.filename.endsWith('.js')
  return pathToFileURL(join(PACKAGE_ROOT, isBuilt ? `dist/${name}.js` : `src/${name}.ts`))
}
