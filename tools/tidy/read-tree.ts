import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TextFile } from './link-rules.ts'
import { type SourceFile, sourceFile } from './source-file.ts'

const tops = [
  'src',
  'client/src',
  'console/src',
  'devnet',
  'contracts',
  'examples',
  'test',
  'tools',
]

/** Every TypeScript file of the house below a root folder, in the order of their paths. */
export async function readTree(root: string): Promise<SourceFile[]> {
  const files = await readFiles(
    root,
    tops.map((top) => `${top}/**/*.{ts,tsx}`),
  )
  return files.map(({ path, text }) => sourceFile(path, text))
}

/** Every file that may name another: Markdown and sources. */
export function readTexts(root: string): Promise<TextFile[]> {
  const folders = [...tops, 'docs', '.github']
  return readFiles(root, ['*.md', ...folders.map((folder) => `${folder}/**/*.{md,ts,mjs,sh}`)])
}

async function readFiles(root: string, patterns: readonly string[]): Promise<TextFile[]> {
  const paths: string[] = []
  for await (const path of glob(patterns, { cwd: root })) paths.push(path.replaceAll('\\', '/'))
  return Promise.all(
    paths.sort().map(async (path) => ({ path, text: await readFile(join(root, path), 'utf8') })),
  )
}
