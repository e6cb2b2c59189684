# The image of every rlmm service. It holds the static binary alone: no shell, an unprivileged
# user, and nothing to write to but /data, so it runs with a read-only root.
FROM golang:1.26 AS build
WORKDIR /src
ENV CGO_ENABLED=0
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=
ARG COMMIT=
RUN make build VERSION="$VERSION" COMMIT="$COMMIT"
# A new volume takes the owner of the folder that it is mounted on.
RUN mkdir /data

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /src/bin/rlmm /rlmm
COPY --from=build --chown=nonroot:nonroot /data /data
VOLUME /data
WORKDIR /data
ENTRYPOINT ["/rlmm"]
