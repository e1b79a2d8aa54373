import { join } from 'node:path'
import { describeBreaches } from './tidy/breach.ts'
import { commentBreaches } from './tidy/comment-rules.ts'
import { readTree } from './tidy/read-tree.ts'

/** Lists comments without a subject, by a rough rule: `node tools/comments.ts [path]`. */

const [, , below = ''] = process.argv
const files = await readTree(join(import.meta.dirname, '..'))
const found = commentBreaches(files.filter(({ path }) => path.startsWith(below)))
process.stdout.write(`${describeBreaches(found)}\n${found.length} comments without a subject\n`)
