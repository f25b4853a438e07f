# Not built by the test suite, which has no container engine: its rules are tested (tests/unit/cli/test_containers.py).
FROM python:3.11-slim AS build
WORKDIR /source
COPY requirements requirements
RUN python -m venv /opt/commonlore \
 && /opt/commonlore/bin/pip install --no-cache-dir --require-hashes --no-deps -r requirements/base.txt -r requirements/build.txt
COPY . .
RUN /opt/commonlore/bin/pip install --no-cache-dir --no-build-isolation --no-deps .

FROM python:3.11-slim
RUN useradd --create-home --uid 10001 commonlore && install -d -o commonlore -g commonlore -m 0700 /home/commonlore/data
COPY --from=build /opt/commonlore /opt/commonlore
ENV PATH=/opt/commonlore/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 MALLOC_ARENA_MAX=1
# By number, so that whoever runs it can see that it is not root.
USER 10001
WORKDIR /home/commonlore
VOLUME /home/commonlore/data
EXPOSE 7411
STOPSIGNAL SIGTERM
CMD ["commonlore", "up"]
