/** An answer as it came, for the servers that give it as a constant. */
export interface SampleAnswer {
  /** Names and values as Sexton wrote them. */
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string
}

export async function sampleAnswer(url: string): Promise<SampleAnswer> {
  const answer = await fetch(url)
  const body = await answer.text()
  if (answer.status !== 200) throw new Error(`${url} answers ${answer.status}: ${body}`)
  const headers = [...answer.headers].map(([name, value]) => [toCase(name), value] as const)
  return { headers, body }
}

/** `fetch` gives names in lower case; what is sent should be as long and as dear to write. */
function toCase(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase())
}
