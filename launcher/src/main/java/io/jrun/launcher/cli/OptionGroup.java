package io.jrun.launcher.cli;

/** The headings under which {@code jrun --help} lists its options, in order. */
enum OptionGroup {
    JOB("Job"),
    HOSTS("Several hosts"),
    RENDEZVOUS("The same command on every node (torchrun's way)"),
    PROGRAM("Program and workers"),
    CONTAINER("Containers"),
    OUTPUT("Output"),
    STOPPING("Stopping"),
    OTHER("Other");

    private final String heading;

    OptionGroup(String heading) {
        this.heading = heading;
    }

    String heading() {
        return heading;
    }
}
