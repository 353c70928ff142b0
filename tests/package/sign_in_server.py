# An MCP server with one tool that wants people to sign in, and the authorization server that says yes to everybody, on
# one port of this machine. Prints its URL. Python alone, so that an installed copy is tried without anything else.
import base64, hashlib, json, secrets, urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

codes, tokens = {}, set()
answers = {
    'initialize': {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'closed', 'version': '1'}},
    'tools/list': {'tools': [{'name': 'vault', 'inputSchema': {'type': 'object'}}]},
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass

    def answer(self, status, body=None, **headers):
        text = b'' if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace('_', '-'), value)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path.startswith('/.well-known/oauth-protected-resource'):
            return self.answer(200, {'resource': base + '/mcp', 'authorization_servers': [base]})
        if url.path == '/.well-known/oauth-authorization-server':
            return self.answer(200, {
                'issuer': base, 'authorization_endpoint': base + '/authorize', 'token_endpoint': base + '/token',
                'registration_endpoint': base + '/register', 'response_types_supported': ['code'],
                'code_challenge_methods_supported': ['S256'], 'token_endpoint_auth_methods_supported': ['none'],
                'authorization_response_iss_parameter_supported': True})
        if url.path == '/authorize':
            asked = dict(urllib.parse.parse_qsl(url.query))
            code = secrets.token_urlsafe()
            codes[code] = asked['code_challenge']
            back = urllib.parse.urlencode({'code': code, 'state': asked['state'], 'iss': base})
            return self.answer(302, Location=asked['redirect_uri'] + '?' + back)
        self.answer(404 if url.path != '/mcp' else 405)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get('Content-Length', 0))).decode()
        if self.path == '/register':
            return self.answer(201, json.loads(body) | {'client_id': 'somebody'})
        if self.path == '/token':
            asked = dict(urllib.parse.parse_qsl(body))
            digest = hashlib.sha256(asked.get('code_verifier', '').encode()).digest()
            if codes.pop(asked.get('code'), '') != base64.urlsafe_b64encode(digest).decode().rstrip('='):
                return self.answer(400, {'error': 'invalid_grant'})
            tokens.add(token := secrets.token_urlsafe())
            return self.answer(200, {'access_token': token, 'token_type': 'Bearer', 'expires_in': 3600})
        if self.headers.get('Authorization', '').removeprefix('Bearer ') not in tokens:
            return self.answer(401, WWW_Authenticate=f'Bearer resource_metadata="{base}/.well-known/oauth-protected-resource"')
        asked = json.loads(body)
        if 'id' not in asked:
            return self.answer(202)
        result = answers.get(asked['method'])
        error = {'error': {'code': -32601, 'message': 'no such method'}}
        self.answer(200, {'jsonrpc': '2.0', 'id': asked['id']} | (error if result is None else {'result': result}))


server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
base = f'http://127.0.0.1:{server.server_address[1]}'
print(base + '/mcp', flush=True)
server.serve_forever()
