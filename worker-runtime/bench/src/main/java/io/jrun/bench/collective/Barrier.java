package io.jrun.bench.collective;

/** No rank leaves before all ranks have entered. */
final class Barrier implements BenchedOperation {
    @Override
    public String name() {
        return "barrier";
    }

    @Override
    public double busFactor(int ranks) {
        return 0;
    }

    @Override
    public boolean hasSize() {
        return false;
    }

    @Override
    public void run(BenchCase cell) {
        cell.group().barrier();
    }

    @Override
    public Expected expected(BenchCase cell) {
        return new Expected(0, i -> 0);
    }
}
