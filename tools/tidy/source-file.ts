import { type MaskedSource, maskSource } from './mask-source.ts'

/** A TypeScript file as the rules see it. */
export type SourceFile = MaskedSource & {
  /** From the project's root, with `/` between its parts. */
  readonly path: string
  readonly imports: readonly Import[]
}

export type Import = {
  readonly specifier: string
  /** Counted from 1. */
  readonly line: number
}

/** Reads a file's parts and imports out of its text. */
export function sourceFile(path: string, text: string): SourceFile {
  const masked = maskSource(text)
  return { path, ...masked, imports: importsOf(masked) }
}

export function isTest(file: { readonly path: string }): boolean {
  return /\.test\.[a-z]+$/.test(file.path)
}

/** Line, counted from 1, of a position in a text. */
export function lineAt(text: string, position: number): number {
  return text.slice(0, position).split('\n').length
}

/** `import x from`, `import 'x'`, `export ... from`, `import('x')`, types included. */
const importForms = [
  /^[ \t]*(?:import|export)\b[^'"`;=()]*?\bfrom\s*(['"])([^'"\n]+)\1/gm,
  /^[ \t]*import\s*(['"])([^'"\n]+)\1/gm,
  /\bimport\s*\(\s*(['"])([^'"\n]+)\1/g,
]

function importsOf({ code, withStrings }: MaskedSource): Import[] {
  return importForms
    .flatMap((form) => [...withStrings.matchAll(form)])
    .filter((match) => {
      const keyword = match.index + match[0].search(/\S/)
      return /^(?:import|export)/.test(code.slice(keyword))
    })
    .map((match) => ({
      specifier: match[2] ?? '',
      line: lineAt(withStrings, match.index + match[0].length - 1),
    }))
    .sort((a, b) => a.line - b.line)
}
