package io.jrun.agent.job;

/** Receives the ends of the jobs of an agent. Called from any thread; the methods must not block. */
public interface JobListener {
    /** A listener that ignores everything. */
    JobListener NONE = new JobListener() {
        @Override
        public void failed(String why) {}

        @Override
        public void released(String why) {}

        @Override
        public void ended() {}
    };

    /** The agent has ended the job on this node by itself, or has refused the job. */
    void failed(String why);

    /** The launcher has removed this node from the job. */
    void released(String why);

    /** The job has ended on this node. */
    void ended();
}
