import { execFile } from 'node:child_process'
import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')

/** Builds, packs and unpacks the client as `npm install` would place it in a folder. */
export async function installClient(folder: string): Promise<void> {
  const source = join(folder, 'client')
  await mkdir(source)
  for (const each of ['src', 'package.json', 'README.md', 'tsconfig.json'])
    await cp(join(ROOT, 'client', each), join(source, each), { recursive: true })
  await cp(join(ROOT, 'tsconfig.json'), join(folder, 'tsconfig.json'))
  await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', 'client'], { cwd: folder })
  await run('npm', ['pack', '--ignore-scripts'], { cwd: source })
  const target = join(folder, 'node_modules/sexton-client')
  await mkdir(target, { recursive: true })
  const packed = join(source, 'sexton-client-0.3.0.tgz')
  await run('tar', ['-xzf', packed, '--strip-components=1', '-C', target])
}
