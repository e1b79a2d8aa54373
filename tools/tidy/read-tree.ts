import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type SourceFile, sourceFile } from './source-file.ts'

/** Every TypeScript file of the house below a root folder, in the order of their paths. */
export async function readTree(root: string): Promise<SourceFile[]> {
  const paths: string[] = []
  const patterns = ['src', 'devnet', 'contracts', 'examples', 'test', 'tools'].map(
    (top) => `${top}/**/*.ts`,
  )
  for await (const path of glob(patterns, { cwd: root })) paths.push(path.replaceAll('\\', '/'))
  return Promise.all(
    paths.sort().map(async (path) => sourceFile(path, await readFile(join(root, path), 'utf8'))),
  )
}
