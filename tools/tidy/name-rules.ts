import type { Breach } from './breach.ts'

/** Lower case, words joined by hyphens, then endings such as `.test.ts`. */
const kebabCase = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9-]+)*$/
const emptyWords = ['util', 'utils', 'helper', 'helpers', 'manager', 'managers', 'misc', 'common']
/** Versions of other people's protocols are their names, not versions of ours. */
const othersNames = ['uniswap-v2', 'uniswap-v3', 'uniswap-v4', 'x402-v1', 'x402-v2']

/** Names of files and folders: kebab-case, no word that says nothing, no version numbers. */
export function nameBreaches(paths: readonly string[]): Breach[] {
  const breaches = paths.flatMap((path) =>
    path.split('/').flatMap((part, index, parts) => {
      const at = parts.slice(0, index + 1).join('/')
      return nameFaults(part).map((fault) => ({ path: at, line: 1, ...fault }))
    }),
  )
  return [...new Map(breaches.map((each) => [`${each.path} ${each.rule}`, each])).values()]
}

function nameFaults(part: string): Pick<Breach, 'rule' | 'mend'>[] {
  const faults: Pick<Breach, 'rule' | 'mend'>[] = []
  if (!kebabCase.test(part)) {
    const mend = 'write it in lower case with hyphens'
    faults.push({ rule: `'${part}' is not kebab-case`, mend })
  }
  const words = part.toLowerCase().split(/[-.]/)
  const empty = words.find((word) => emptyWords.includes(word))
  if (empty !== undefined) {
    const mend = 'name it after what it holds (the words of docs/glossary.md)'
    faults.push({ rule: `'${empty}' says nothing about what is inside`, mend })
  }
  const own = othersNames.reduce((name, other) => name.replace(other, ''), part.toLowerCase())
  if (own.split(/[-.]/).some((word) => /^v\d+$/.test(word))) {
    const mend = 'name it after what it does; git keeps the versions'
    faults.push({ rule: `'${part}' carries a version number`, mend })
  }
  return faults
}
