import { cp, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

const ROOT = join(import.meta.dirname, '..')
const COPIED = [
  ...['src', 'test', 'devnet', 'contracts', 'tools', 'docs', 'deploy', 'examples', 'fonts'],
  ...['client', 'console'],
  ...['package.json', 'package-lock.json', 'tsconfig.json', '.npmrc', 'README.md', 'LICENSE'],
]

/** Copies the project beside its installed packages, for a test that changes or builds files. */
export async function copyProject(context: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sexton-project-'))
  context.after(() => rm(folder, { recursive: true, force: true }))
  for (const each of COPIED) await cp(join(ROOT, each), join(folder, each), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return folder
}
