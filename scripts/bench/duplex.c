/* A plain TCP stream with both directions busy at once: what the network between two hosts allows.
 * Usage: duplex server PORT SECONDS              on one host; serves one client
 *        duplex client ADDRESS PORT SECONDS      on the other; both print the GB/s they received
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CHUNK (1 << 20)

static double seconds_to_run, start;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void *send_all_the_time(void *arg) {
    int fd = *(int *)arg;
    char *chunk = calloc(1, CHUNK);
    while (now() - start < seconds_to_run) {
        for (size_t sent = 0; sent < CHUNK;) {
            ssize_t n = write(fd, chunk + sent, CHUNK - sent);
            if (n <= 0) fail("duplex: write");
            sent += n;
        }
    }
    shutdown(fd, SHUT_WR);
    free(chunk);
    return NULL;
}

int main(int argc, char **argv) {
    int is_client = argc == 5 && strcmp(argv[1], "client") == 0;
    if (!is_client && !(argc == 4 && strcmp(argv[1], "server") == 0)) {
        fprintf(stderr, "usage: duplex server PORT SECONDS | duplex client ADDRESS PORT SECONDS\n");
        return 2;
    }
    seconds_to_run = atof(argv[argc - 1]);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[argc - 2]))};
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (is_client) {
        inet_pton(AF_INET, argv[2], &address.sin_addr);
        int tries = 0;
        while (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
            if (++tries == 100) fail("duplex: connect");
            close(fd);
            usleep(100000);
            fd = socket(AF_INET, SOCK_STREAM, 0);
        }
    } else {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 1) != 0) fail("duplex: bind");
        alarm(30);
        int accepted = accept(fd, NULL, NULL);
        alarm(0);
        close(fd);
        fd = accepted;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    start = now();
    pthread_t sender;
    pthread_create(&sender, NULL, send_all_the_time, &fd);
    char *chunk = malloc(CHUNK);
    double received = 0, last = start;
    for (ssize_t n; (n = read(fd, chunk, CHUNK)) > 0;) {
        received += n;
        last = now();
    }
    pthread_join(sender, NULL);
    printf("%.4f\n", received / (last - start) / 1e9);
    return 0;
}
