# One image for every role: `serve` by default, `web`, `worker` and `admin …` by name.
FROM python:3.12-slim AS build
WORKDIR /src
COPY requirements requirements
RUN python -m venv /opt/tools \
 && /opt/tools/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements/uv.txt \
 && python -m venv --without-pip /opt/reedbed
ENV UV_PYTHON_DOWNLOADS=never UV_NO_CACHE=1 UV_LINK_MODE=copy
# With REQUIREMENTS=extras the image can also speak to an OpenTelemetry collector and to Sentry.
ARG REQUIREMENTS=run
RUN /opt/tools/bin/uv pip install --python /opt/reedbed/bin/python --compile-bytecode --require-hashes \
      -r requirements/${REQUIREMENTS}.txt
COPY . .
RUN /opt/tools/bin/uv pip install --python /opt/reedbed/bin/python --compile-bytecode --no-deps \
      --build-constraints requirements/build.txt .

FROM python:3.12-slim
# With PACKAGES="espeak-ng ffmpeg" the image can also read aloud.
ARG PACKAGES=
RUN if [ -n "$PACKAGES" ]; then \
      apt-get update && apt-get install -y --no-install-recommends $PACKAGES && rm -rf /var/lib/apt/lists/*; \
    fi
RUN useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin reedbed \
 && install -d -o reedbed -g reedbed -m 0700 /data
COPY --from=build /opt/reedbed /opt/reedbed
ENV PATH=/opt/reedbed/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    REEDBED_HOST=0.0.0.0 \
    REEDBED_PORT=8080 \
    REEDBED_DATA_DIR=/data \
    REEDBED_LOG_FORMAT=json
USER reedbed
WORKDIR /data
VOLUME /data
EXPOSE 8080
# A worker answers here, too, when REEDBED_METRICS_PORT=8080.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/readyz', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["reedbed"]
CMD ["serve"]
