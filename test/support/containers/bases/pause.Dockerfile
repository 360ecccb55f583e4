FROM debian:bookworm-slim
# Process 1 ignores signals that it does not handle.
STOPSIGNAL SIGKILL
CMD ["sleep", "infinity"]
