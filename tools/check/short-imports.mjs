import { readFileSync } from 'node:fs'
import * as modules from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Preloaded into the processes and threads of a test run: leads imports of packages to their bundle, and
 * those of the project's own files straight to the file, which Node otherwise looks up step by step.
 * Plain JavaScript, since a test may start npm on an older Node, where nothing happens here. `process` is
 * not imported: that opens stdin, which a program can then not read at once.
 */
const root = new URL('../../', import.meta.url).href
const { imports } = readJson(new URL('package.json', root))
const folders = Object.entries(imports).map(([pattern, target]) => [
  pattern.slice(0, -1),
  root + target.slice(2, -1),
])
const folder = process.env.TEST_PACKAGES ?? ''
const packages = Object.fromEntries(
  Object.entries(readJson(join(folder, 'names.json'))).map(([name, file]) => [
    name,
    pathToFileURL(join(folder, file)).href,
  ]),
)

modules.registerHooks?.({
  resolve(specifier, context, next) {
    const { parentURL, conditions } = context
    if (!conditions.includes('import') || !isOurs(parentURL)) return next(specifier, context)
    const bundled = packages[specifier]
    if (bundled !== undefined) return { url: bundled, format: 'module', shortCircuit: true }
    const url = specifier.endsWith('.ts') ? ownFile(specifier, parentURL) : undefined
    if (url === undefined) return next(specifier, context)
    return { url, format: 'module-typescript', shortCircuit: true }
  },
})

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'))
}

function isOurs(url) {
  return url?.startsWith(root) && !url.includes('/node_modules/')
}

function ownFile(specifier, parentURL) {
  if (specifier.startsWith('.')) return new URL(specifier, parentURL).href
  const folder = folders.find(([start]) => specifier.startsWith(start))
  return folder && folder[1] + specifier.slice(folder[0].length)
}
