"""A real OpenID Connect provider on loopback, for tests: discovery, keys, codes with PKCE, and many lies.

    async with OidcProvider() as provider:
        provider.claims["email"] = "reader@example.org"
        back = provider.approve(url)               # the address to go back to, as a browser would be sent
        provider.lies["nonce"] = "another"         # from now on its tokens say this

It speaks Facebook's dialect as well: `/v1/dialog/oauth`, `/v1/oauth/access_token`, `/v1/me`.
"""

import hashlib
import secrets
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from jwt.algorithms import RSAAlgorithm

from reedbed.domain.sign_in import Provider, SigningKey
from tests.serving import close

CLIENT = "reedbed"
SECRET = "s3cret/with+signs"


@dataclass
class OidcProvider:
    claims: dict[str, Any] = field(
        default_factory=lambda: {"sub": "42", "email": "reader@example.org", "email_verified": True}
    )
    lies: dict[str, Any] = field(default_factory=dict)
    """Claims of the next ID tokens, whatever would be true; None leaves one out."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """What discovery says otherwise."""
    only_userinfo: bool = False
    """The address is told by the userinfo endpoint alone."""
    algorithm: str = "RS256"
    asked: list[Mapping[str, str]] = field(default_factory=list)
    redeemed: list[Mapping[str, str]] = field(default_factory=list)
    key_requests: int = 0

    async def __aenter__(self) -> Self:
        self._codes: dict[str, Mapping[str, str]] = {}
        self.rotate()
        app = web.Application()
        app.router.add_get("/.well-known/openid-configuration", self._discovery)
        app.router.add_get("/keys", self._keys)
        app.router.add_get("/authorize", self._authorize)
        app.router.add_post("/token", self._token)
        app.router.add_get("/userinfo", self._userinfo)
        app.router.add_get("/v1/dialog/oauth", self._authorize)
        app.router.add_post("/v1/oauth/access_token", self._token)
        app.router.add_get("/v1/me", self._me)
        app.router.add_get("/end", self._end)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await close(self._runner)

    def rotate(self) -> None:
        """New keys from now on."""
        self.key = rsa.generate_private_key(65537, 2048)
        self.key_id = secrets.token_hex(4)

    def as_oidc(self, **changes: Any) -> Provider:
        return Provider("oidc", "Reed ID", self.url, CLIENT, SECRET, **changes)

    def as_apple(self) -> tuple[Provider, ec.EllipticCurvePublicKey]:
        """A provider that takes a signed note for a secret and sends people back with a form."""
        key = ec.generate_private_key(ec.SECP256R1())
        text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        provider = Provider(
            "apple", "Apple", self.url, CLIENT, form_post=True, signing_key=SigningKey("TEAM", "KEY", text)
        )
        return provider, key.public_key()

    def as_facebook(self) -> Provider:
        return Provider("facebook", "Facebook", self.url, CLIENT, SECRET, "email", graph=f"{self.url}/v1/me")

    def approve(self, url: str) -> str:
        """What the authorization endpoint would send a browser back with, for one who says yes."""
        asked = dict(parse_qsl(urlsplit(url).query))
        self.asked.append(asked)
        code = secrets.token_urlsafe(12)
        self._codes[code] = asked
        back = {"code": code, "state": asked["state"]}
        if self.metadata.get("authorization_response_iss_parameter_supported"):
            back["iss"] = self.url
        return f"{asked['redirect_uri']}?{urlencode(back)}"

    async def _discovery(self, request: web.Request) -> web.Response:
        said = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "userinfo_endpoint": f"{self.url}/userinfo",
            "end_session_endpoint": f"{self.url}/end",
        }
        return web.json_response({**said, **self.metadata})

    async def _keys(self, request: web.Request) -> web.Response:
        self.key_requests += 1
        shown = RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        return web.json_response({"keys": [{**shown, "kid": self.key_id, "use": "sig", "alg": "RS256"}]})

    async def _authorize(self, request: web.Request) -> web.Response:
        raise web.HTTPFound(self.approve(str(request.url)))

    async def _token(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.redeemed.append({**form, **_basic(request)})
        asked = self._codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or asked["code_challenge"] != challenge or asked["redirect_uri"] != form["redirect_uri"]:
            return web.json_response({"error": "invalid_grant"}, status=400)
        if "client_secret" not in form and _basic(request) != {"client_id": CLIENT, "client_secret": SECRET}:
            return web.json_response({"error": "invalid_client"}, status=401)
        return web.json_response({"access_token": "access", "token_type": "Bearer", "id_token": self._id_token(asked)})

    def _id_token(self, asked: Mapping[str, str]) -> str:
        now = int(time.time())
        own = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked.get("nonce")}
        told = {"sub": self.claims["sub"]} if self.only_userinfo else self.claims
        claims = {name: value for name, value in {**own, **told, **self.lies}.items() if value is not None}
        headers = {"kid": self.key_id}
        if self.algorithm == "none":
            return jwt.encode(claims, None, algorithm="none", headers=headers)
        if self.algorithm == "HS256":
            return jwt.encode(claims, SECRET * 3, algorithm="HS256", headers=headers)
        return jwt.encode(claims, self.key, algorithm=self.algorithm, headers=headers)

    async def _userinfo(self, request: web.Request) -> web.Response:
        assert request.headers["Authorization"] == "Bearer access"
        return web.json_response(self.claims)

    async def _end(self, request: web.Request) -> web.Response:
        return web.Response(text="ended")

    async def _me(self, request: web.Request) -> web.Response:
        assert request.query["appsecret_proof"]
        return web.json_response({"id": self.claims["sub"], "email": self.claims.get("email")})


def _basic(request: web.Request) -> dict[str, str]:
    scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
    if scheme != "Basic":
        return {}
    name, _, secret = b64decode(sent).decode().partition(":")
    return {"client_id": unquote(name), "client_secret": unquote(secret)}
