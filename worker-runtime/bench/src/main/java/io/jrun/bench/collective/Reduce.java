package io.jrun.bench.collective;

/** Rank 0 gets the reduction, in place. */
final class Reduce implements BenchedOperation {
    @Override
    public String name() {
        return "reduce";
    }

    @Override
    public double busFactor(int ranks) {
        return 1;
    }

    @Override
    public boolean reduces() {
        return true;
    }

    @Override
    public void run(BenchCase cell) {
        cell.group().reduce(cell.input(), cell.type(), cell.total(), cell.op(), 0);
    }

    @Override
    public Expected expected(BenchCase cell) {
        return new Expected(cell.rank() == 0 ? cell.total() : 0, cell::reduced);
    }
}
