import type { Breach } from './breach.ts'
import type { SourceFile } from './source-file.ts'

/** A file of more lines holds more than one subject. */
export const fileLinesMax = 400
/** A function of more lines does not fit a screen. */
export const functionLinesMax = 70

/** Files over 400 lines. */
export function fileSizeBreaches(files: readonly SourceFile[]): Breach[] {
  return files.flatMap(({ path, code }) => {
    const lines = code.replace(/\n$/, '').split('\n').length
    if (lines <= fileLinesMax) return []
    const rule = `${lines} lines, at most ${fileLinesMax}`
    return [{ path, line: fileLinesMax + 1, rule, mend: 'split the file by subject' }]
  })
}

/** Functions over 70 lines, by their layout: Biome's formatting makes the indent tell the end. */
export function functionSizeBreaches(files: readonly SourceFile[]): Breach[] {
  return files.flatMap(({ path, code }) => {
    const lines = code.split('\n')
    return lines.flatMap((_, start) => {
      const length = functionLength(lines, start)
      if (length <= functionLinesMax) return []
      const rule = `function of ${length} lines, at most ${functionLinesMax}`
      return [{ path, line: start + 1, rule, mend: 'name its steps as functions of their own' }]
    })
  })
}

const functionWord = /^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?function\b/
const arrow = /=>\s*\(?[{[(]?\s*$/
const method = /^\s+(?:(?:async|static|get|set|override|private|readonly)\s+|\*)*[\w$#]+(?:<.*>)?\(/
const statement = /^\s*(?:if|for|while|switch|catch|return|await|throw|super|import)\b/
/** A suite only groups its tests; each test is a function of its own. */
const suite = /^\s*(?:describe|suite)(?:\.\w+)?\(/
const closing = /^\s*[}\])][}\]);,]*(?:\s*(?:as|satisfies)\s.*)?$/

/** Lines of the function that starts on a line, 0 if none does. */
function functionLength(lines: readonly string[], start: number): number {
  const first = lines[start] ?? ''
  if (suite.test(first) || !startsFunction(lines, start)) return 0
  const indent = indentOf(first)
  for (let at = start + 1; at < lines.length; at += 1) {
    const line = lines[at] ?? ''
    if (line.trim() !== '' && indentOf(line) <= indent && closing.test(line)) return at - start + 1
    if (line.trim() !== '' && indentOf(line) < indent) return 0
  }
  return 0
}

function startsFunction(lines: readonly string[], start: number): boolean {
  const line = lines[start] ?? ''
  if (functionWord.test(line)) return true
  if (/^\s*[)\]}]/.test(line) || statement.test(line)) return false
  if (arrow.test(line)) return true
  if (method.test(line) && line.endsWith('{')) return true
  return line.endsWith('(') && parametersEndInBody(lines, start)
}

/** Whether the parameter list that a line opens is closed by `) {` or `) => {`. */
function parametersEndInBody(lines: readonly string[], start: number): boolean {
  const indent = indentOf(lines[start] ?? '')
  const end = lines.slice(start + 1).find((line) => line.trim() !== '' && indentOf(line) <= indent)
  return end !== undefined && /^\s*\)/.test(end) && end.endsWith('{')
}

function indentOf(line: string): number {
  return line.search(/\S/)
}
