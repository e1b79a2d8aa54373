import type { Breach } from './breach.ts'
import type { SourceFile } from './source-file.ts'

/** A file of more lines holds more than one subject. */
export const fileLinesMax = 600

/** Files over 600 lines. */
export function fileSizeBreaches(files: readonly SourceFile[]): Breach[] {
  return files.flatMap(({ path, code }) => {
    const lines = code.replace(/\n$/, '').split('\n').length
    if (lines <= fileLinesMax) return []
    const rule = `${lines} lines, at most ${fileLinesMax}`
    return [{ path, line: fileLinesMax + 1, rule, mend: 'split the file by subject' }]
  })
}
