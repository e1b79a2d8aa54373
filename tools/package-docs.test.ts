import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

const ROOT = join(import.meta.dirname, '..')

/** What documents name of a checkout, for those who build from one. */
const OF_CHECKOUT = /^(package\.json|node_modules|src|test|tools|console|devnet|client)(\/|$)/

test('whatever a packed document links to, or its commands name, is in the package', async () => {
  const pack = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const { stdout } = await promisify(execFile)('npm', pack, { cwd: ROOT })
  const [{ files }] = JSON.parse(stdout) as [{ readonly files: readonly { path: string }[] }]
  const packed = new Set(files.map(({ path }) => path))
  const isPacked = (path: string) =>
    packed.has(path) || [...packed].some((each) => each.startsWith(`${path}/`))
  const missing: string[] = []
  for (const document of packed) {
    if (!document.endsWith('.md')) continue
    const text = await readFile(join(ROOT, document), 'utf8')
    for (const path of [...linksOf(document, text), ...filesInCommands(text)])
      if (!OF_CHECKOUT.test(path) && !isPacked(path)) missing.push(`${document}: ${path}`)
  }
  assert.deepEqual(missing, [])
})

function linksOf(document: string, text: string): readonly string[] {
  return [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => normalize(join(dirname(document), target)).replace(/\/$/, ''))
}

/** Words of code blocks that are files of this project. */
function filesInCommands(text: string): readonly string[] {
  const blocks = [...text.matchAll(/^```[a-z]*\n([\s\S]*?)^```/gm)].map(([, block = '']) => block)
  const words = blocks.flatMap((block) => block.split(/[\s'"=:]+/))
  return words.filter((word) => {
    const path = join(ROOT, word)
    return (
      word.includes('/') && !word.startsWith('/') && existsSync(path) && statSync(path).isFile()
    )
  })
}
