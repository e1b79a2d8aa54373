import type { Breach } from './breach.ts'
import { lineAt, type SourceFile } from './source-file.ts'

/** First words that lean on the line before, unless a clause of their own follows. */
const leaning =
  /^(?:Above|After|Again|Against|Alike|Also|And|As|At|Because|Before|Below|Between|Beyond|Both|But|By|Else|Even|Except|For|From|If|In|Instead|Like|Not|Of|On|Once|Only|Or|Otherwise|Over|Per|Since|So|Still|Then|Though|To|Too|Twice|Under|Unless|Until|When|Where|While|With|Within|Without)\b/

/** A participle whose subject is the name below; `Keyed by chain.` is the field's short form. */
const participle =
  /^(?!Undefined|Keyed|Listed|Sorted|Numbered|Cached|Called)(?:[A-Z][a-z]+ed (?:[a-z]{1,4}|again|already|first|together|before|until|though|twice)\b|[A-Z][a-z]+ed[.,;:]|Read first|Usually|Apart|Unusable)/

/** Words that open a clause without a main one: it has to follow after a comma. */
const subordinate =
  /^(?:After|Although|As|Because|Before|If|Once|Since|So|Though|Unless|Until|When|Where|While)\b/

/** Verbs that are rarely nouns; a rough rule needs no more. */
const finite =
  /\b(?:am|are|can|cannot|could|did|do|does|had|has|have|is|may|might|must|should|was|were|will|would|becomes?|begins?|bounds|brings?|comes?|follows?|gets?|gives?|goes|go|happens?|holds?|keeps?|knows?|leaves?|lets?|loses?|makes?|means?|moves|refuses|remains?|returns?|says?|sees?|sends?|stays?|takes?|throws?|tries|wins)\b/

/** Comments whose first sentence has no subject, or no verb where a clause must have one. */
export function commentBreaches(files: readonly SourceFile[]): Breach[] {
  return files.flatMap(({ path, comments, code }) =>
    firstSentences(comments, code)
      .filter(({ sentence }) => leans(sentence))
      .map(({ sentence, at }) => ({
        path,
        line: lineAt(comments, at),
        rule: `'${sentence}' has no subject`,
        mend: 'write a sentence, or delete it',
      })),
  )
}

interface FirstSentence {
  readonly sentence: string
  readonly at: number
}

function firstSentences(comments: string, code: string): FirstSentence[] {
  const blocks = comments.matchAll(/\/\*[\s\S]*?\*\/|(?:\/\/.*(?:\n\s*(?=\/\/))?)+/g)
  return [...blocks].flatMap(({ index, 0: block }) => {
    const before = code.slice(code.lastIndexOf('\n', index) + 1, index).trim()
    const text = block.replaceAll(/^\s*(?:\/\*\*?|\*\/?|\/\/)|\*\/\s*$/gm, ' ')
    const sentence = /^.*?(?:[.:;](?=\s|$)|$)/.exec(text.replaceAll(/\s+/g, ' ').trim())?.[0] ?? ''
    return sentence === '' || before !== '' ? [] : [{ sentence, at: index }]
  })
}

function leans(sentence: string): boolean {
  if (participle.test(sentence)) return !finite.test(sentence)
  if (!leaning.test(sentence)) return false
  const [, ...clauses] = sentence.split(',')
  if (subordinate.test(sentence)) return !clauses.some((clause) => finite.test(clause))
  return !finite.test(sentence)
}
