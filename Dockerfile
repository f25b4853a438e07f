# Not tried by the test suite, which has no container engine; the compose file's form is.
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
ENV PATH=/opt/commonlore/bin:$PATH PYTHONUNBUFFERED=1 MALLOC_ARENA_MAX=1
USER commonlore
WORKDIR /home/commonlore
VOLUME /home/commonlore/data
EXPOSE 7411
CMD ["commonlore", "up"]
