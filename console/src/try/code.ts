export const LANGUAGES = ['curl', 'TypeScript', 'Python'] as const

export type Language = (typeof LANGUAGES)[number]

/** A request ready to paste; the secret is a variable, so that it stays out of histories. */
export function codeOf(language: Language, url: string, hasKey: boolean): string {
  if (language === 'curl')
    return hasKey ? `curl "${url}" \\\n  -H "Authorization: Bearer $SEXTON_KEY"` : `curl "${url}"`
  if (language === 'Python') {
    const headers = hasKey
      ? `\nrequest.add_header("Authorization", "Bearer " + os.environ["SEXTON_KEY"])`
      : ''
    const imports = hasKey ? 'import json, os' : 'import json'
    return `${imports}
from urllib.request import Request, urlopen

request = Request("${url}")${headers}
with urlopen(request) as answer:
    print(json.load(answer)["data"])`
  }
  const headers = hasKey
    ? `, {\n  headers: { Authorization: \`Bearer \${process.env.SEXTON_KEY}\` },\n}`
    : ''
  return `const answer = await fetch('${url}'${headers})
const { data } = await answer.json()
console.log(answer.headers.get('x-ratelimit-remaining'), data)`
}
