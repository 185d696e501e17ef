package io.jrun.agent.job;

/** Hears how the jobs of an agent end. Called from any thread; must not wait. */
public interface JobListener {
    /** A listener that ignores everything. */
    JobListener NONE = new JobListener() {
        @Override
        public void failed(String why) {}

        @Override
        public void ended() {}
    };

    /** The agent has ended the job on this node by itself, or has refused the job. */
    void failed(String why);

    /** The job has ended on this node. */
    void ended();
}
