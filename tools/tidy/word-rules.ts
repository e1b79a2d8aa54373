import type { Breach } from './breach.ts'
import { lineAt, type SourceFile } from './source-file.ts'

type Word = { readonly pattern: RegExp; readonly rule: string; readonly mend: string }

const inComments: readonly Word[] = [
  {
    pattern: /\b(?:TODO|FIXME|XXX)\b/g,
    rule: 'a comment postpones work',
    mend: 'do it, or open an issue',
  },
]

const inSourceCode: readonly Word[] = [
  {
    pattern: /\bas\s+any\b/g,
    rule: '`as any` switches the types off',
    mend: 'parse the value, or type it',
  },
  {
    pattern: /\bas\s+unknown\s+as\b/g,
    rule: 'a double cast claims what nobody checked',
    mend: 'parse the value',
  },
  {
    pattern: /^[ \t]*(?:export[ \t]+)?(?:declare[ \t]+)?(?:const[ \t]+)?enum[ \t]+\w/gm,
    rule: 'enum is not erasable',
    mend: 'use a union of string literals',
  },
]

/** Postponed work anywhere; casts that hide and enums below `src/`. */
export function wordBreaches(files: readonly SourceFile[]): Breach[] {
  return files.flatMap((file) => [
    ...found(file.path, file.comments, inComments),
    ...(file.path.startsWith('src/') ? found(file.path, file.code, inSourceCode) : []),
  ])
}

function found(path: string, text: string, words: readonly Word[]): Breach[] {
  return words.flatMap(({ pattern, rule, mend }) =>
    [...text.matchAll(pattern)].map((match) => ({
      path,
      line: lineAt(text, match.index + match[0].search(/\S/)),
      rule,
      mend,
    })),
  )
}
