package io.jrun.comm;

/** The way into the job that this process was started for. */
public final class Distributed {
    /** Names the runtime's class, since this package stands below it. ServiceLoader would open each jar of the class path. */
    private static final WorldProvider PROVIDER = provider(".join.RuntimeWorldProvider");

    private Distributed() {}

    /**
     * Joins the job and returns when every rank has. A process that jrun did not start is a world of one; unless MPI has
     * started it (mpirun, srun --mpi=pmix): then the world is MPI's, without a store and without word of ranks that leave.
     *
     * <p>Call it once per process and close the world at the end. When this node's agent vanishes, the process says so on
     * stderr and halts with exit code 1: a worker does not outlive its job.
     *
     * @throws CommException RENDEZVOUS_TIMEOUT if not all ranks have joined in time; ABORTED if the job stops meanwhile;
     *     USAGE if the environment is not jrun's, or the agent refuses this process (a second call, for instance); SYSTEM if
     *     the agent cannot be reached
     */
    public static World init() {
        return PROVIDER.init();
    }

    /**
     * Checks the environment variables that {@link #init()} reads, so that a program can fail before its work begins.
     *
     * @throws CommException USAGE as init
     */
    public static void checkEnvironment() {
        PROVIDER.checkEnvironment();
    }

    /**
     * As {@link #init()}, for a process that can go on in another round when this one fails; see
     * {@code Elastic}, which is what programs use.
     */
    public static Rounds rounds() {
        return PROVIDER.rounds();
    }

    private static WorldProvider provider(String name) {
        String className = Distributed.class.getPackageName() + name;
        try {
            return Class.forName(className)
                    .asSubclass(WorldProvider.class)
                    .getDeclaredConstructor()
                    .newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("jrun's runtime is not whole: " + className + " cannot be made", e);
        }
    }
}
