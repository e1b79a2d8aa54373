import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const FOLDER = join(import.meta.dirname, '../../deploy')

interface Certificate {
  readonly certificate: string
  readonly key: string
}

export async function makeCertificate(folder: string): Promise<Certificate> {
  const place = { certificate: join(folder, 'fullchain.pem'), key: join(folder, 'privkey.pem') }
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const files = ['-keyout', place.key, '-out', place.certificate]
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-days', '2', ...subject, ...files],
  ])
  return place
}

/** `deploy/nginx.conf` within a main configuration, with places of this machine. */
export async function nginxConfiguration(
  folder: string,
  certificate: Certificate,
): Promise<string> {
  const site = (await readFile(join(FOLDER, 'nginx.conf'), 'utf8'))
    .replace('listen 443 ', 'listen 127.0.0.1:443 ')
    .replace('/etc/ssl/sexton/fullchain.pem', certificate.certificate)
    .replace('/etc/ssl/sexton/privkey.pem', certificate.key)
  return nginxMain(folder, `access_log off;\n${site}`)
}

/** A main configuration that writes into a folder only. */
export function nginxMain(folder: string, http: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `daemon off;
pid ${folder}/nginx.pid;
error_log stderr warn;
events {}
http {
${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')}
${http}
}
`
}
