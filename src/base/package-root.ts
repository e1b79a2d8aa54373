import assert from 'node:assert/strict'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import manifest from '../../package.json' with { type: 'json' }

const manifestFile = findPackageJSON(import.meta.url)
assert(manifestFile !== undefined, 'every file of this package lies below its package.json')

/** The folder that holds both `src/` and `dist/`. */
export const PACKAGE_ROOT = dirname(manifestFile)

/** Entry file of a worker thread: the source, or its build. `name` is as in `src/`, without ending. */
export function moduleFile(name: string): URL {
  const isBuilt = import.meta.filename.endsWith('.js')
  return pathToFileURL(join(PACKAGE_ROOT, isBuilt ? `dist/${name}.js` : `src/${name}.ts`))
}

export const VERSION: string = manifest.version
