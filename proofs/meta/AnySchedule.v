(** Every schedule of a block gives what the run in step gives.

    The part "Any order" of [docs/trust.md], for one block of a launch. The run in step is one schedule, [ev] and [st], in which the block comes
    to its end. If any two accesses of two threads in it that do not commute have a meeting of both threads between them (a barrier of the
    block or of a warp), then every other schedule ends too, after no more steps, is never stuck before, and leaves the same memory.

    Threads are programs: what a thread does next depends on all that it has read. So nothing is assumed of other schedules, not even that
    they make the same accesses; that they do is part of what is proved.

    No axioms; [coqc] 8.16. *)

From Coq Require Import List Arith Bool Lia.
Import ListNotations.

Section Block.

Variables loc val : Type.
Variable same_loc : forall a b : loc, {a = b} + {a <> b}.
Variable tick : val.  (* what a thread gets from a step that gives it nothing *)

(** An update is one indivisible step; a plain write is an update by a constant function. *)
Inductive action :=
  | Read (l : loc)
  | Update (l : loc) (f : val -> val)
  | Meet (g : nat) (x : val)  (* a barrier or a shuffle of the group [g], to which the thread gives [x] *)
  | Halt.

Variable n : nat.                               (* threads 0 … n-1 *)
Variable program : nat -> list val -> action.   (* of a thread and all that it got so far, the latest first *)
Variable member : nat -> nat -> bool.           (* group, thread *)
Variable exchange : nat -> list val -> nat -> val.  (* group, what all gave, thread: what a shuffle gives *)
Hypothesis members : forall g t, member g t = true -> t < n.

Record state := { got : nat -> list val; mem : loc -> val }.

Definition next (s : state) (t : nat) : action := program t (got s t).

Definition given (g : nat) (a : action) : val := match a with Meet _ x => x | _ => tick end.

Definition offers (s : state) (g : nat) : list val :=
  map (fun t => if member g t then given g (next s t) else tick) (seq 0 n).

Inductive event := Own (t : nat) | Together (g : nat).

(** One step of one schedule: of a thread alone, or of all of a group that have come to meet. *)
Inductive step (s : state) : event -> state -> Prop :=
  | step_read t l s' :
      t < n -> next s t = Read l ->
      (forall u, got s' u = if u =? t then mem s l :: got s t else got s u) ->
      (forall a, mem s' a = mem s a) ->
      step s (Own t) s'
  | step_update t l f s' :
      t < n -> next s t = Update l f ->
      (forall u, got s' u = if u =? t then tick :: got s t else got s u) ->
      (forall a, mem s' a = if same_loc a l then f (mem s a) else mem s a) ->
      step s (Own t) s'
  | step_meet g t s' :
      member g t = true ->
      (forall u, member g u = true -> exists x, next s u = Meet g x) ->
      (forall u, got s' u = if member g u then exchange g (offers s g) u :: got s u else got s u) ->
      (forall a, mem s' a = mem s a) ->
      step s (Together g) s'.

(** The run in step: [N] events from [st 0] to [st N], where all threads have halted. *)
Variable N : nat.
Variable ev : nat -> event.
Variable st : nat -> state.
Hypothesis runs : forall i, i < N -> step (st i) (ev i) (st (S i)).
Hypothesis ends : forall t, t < n -> next (st N) t = Halt.

Definition takes_part (t : nat) (e : event) : bool :=
  match e with Own u => t =? u | Together g => member g t end.

(** Two actions that may come in either order. *)
Definition independent (a b : action) : Prop :=
  match a, b with
  | Read l, Update k _ | Update l _, Read k => l <> k
  | Update l f, Update k g => l <> k \/ forall v, f (g v) = g (f v)
  | _, _ => True
  end.

(** What the obligation [ordered] says of the run in step. *)
Definition race_free : Prop :=
  forall i j t u, i < j < N -> ev i = Own t -> ev j = Own u -> t <> u ->
    independent (next (st i) t) (next (st j) u) \/
    exists k g, i < k < j /\ ev k = Together g /\ member g t = true /\ member g u = true.

Hypothesis ordered : race_free.

(** * The run in step *)

Lemma unmoved i t : i < N -> takes_part t (ev i) = false -> got (st (S i)) t = got (st i) t.
Proof.
  intros Hi Hp. specialize (runs i Hi).
  inversion runs as [u l s' Hu Ha Hg Hm E | u l f s' Hu Ha Hg Hm E | g u s' Hu Ha Hg Hm E];
    rewrite <- E in Hp; simpl in Hp; rewrite Hg, Hp; reflexivity.
Qed.

Lemma unmoved_between t a b : a <= b -> b <= N ->
  (forall i, a <= i < b -> takes_part t (ev i) = false) -> got (st b) t = got (st a) t.
Proof.
  intros Hab. induction Hab as [|b Hab IH]; intros HN H; [reflexivity|].
  rewrite unmoved; [apply IH | lia | apply H; lia]; [lia|]. intros i Hi. apply H. lia.
Qed.

(** The first event of a thread from [a] on, if there is one. *)
Lemma first_from t a : a <= N ->
  (exists i, a <= i < N /\ takes_part t (ev i) = true /\ forall j, a <= j < i -> takes_part t (ev j) = false) \/
  (forall j, a <= j < N -> takes_part t (ev j) = false).
Proof.
  intros Ha. remember (N - a) as d eqn:Hd. revert a Ha Hd. induction d as [|d IH]; intros a Ha Hd.
  - right. intros j Hj. lia.
  - destruct (takes_part t (ev a)) eqn:E.
    + left. exists a. split; [lia|]. split; [exact E|]. intros j Hj. lia.
    + destruct (IH (S a)) as [(i & Hi & Hp & Hb) | Hn]; try lia.
      * left. exists i. split; [lia|]. split; [exact Hp|].
        intros j Hj. destruct (Nat.eq_dec j a) as [->|]; [exact E | apply Hb; lia].
      * right. intros j Hj. destruct (Nat.eq_dec j a) as [->|]; [exact E | apply Hn; lia].
Qed.

(** * Memory after a part of the events

    A cut says of each thread before which event it stands. Memory is what the updates that are done make of it, taken in the order of the run
    in step. *)

Definition effect (i : nat) (l : loc) (v : val) : val :=
  match ev i with
  | Own t => match next (st i) t with Update k f => if same_loc l k then f v else v | _ => v end
  | Together _ => v
  end.

Definition done (c : nat -> nat) (i : nat) : bool :=
  match ev i with Own t => i <? c t | Together _ => false end.

Fixpoint memory (c : nat -> nat) (l : loc) (k : nat) : val :=
  match k with
  | 0 => mem (st 0) l
  | S k => if done c k then effect k l (memory c l k) else memory c l k
  end.

Lemma in_step l k : k <= N -> mem (st k) l = memory (fun _ => N) l k.
Proof.
  induction k as [|k IH]; intros Hk; [reflexivity|]. simpl. rewrite <- IH by lia.
  assert (Hl : k < N) by lia. specialize (runs k Hl).
  unfold done, effect.
  inversion runs as [u a s' Hu Ha Hg Hm E | u a f s' Hu Ha Hg Hm E | g u s' Hu Ha Hg Hm E]; rewrite Hm.
  - apply Nat.ltb_lt in Hl. rewrite Hl, Ha. reflexivity.
  - apply Nat.ltb_lt in Hl. rewrite Hl, Ha. destruct (same_loc l a); reflexivity.
  - reflexivity.
Qed.

Lemma memory_same c d l k : (forall i, i < k -> done c i = done d i \/ forall v, effect i l v = v) ->
  memory c l k = memory d l k.
Proof.
  induction k as [|k IH]; intros H; [reflexivity|]. simpl. rewrite IH by (intros i Hi; apply H; lia).
  destruct (H k) as [-> | E]; [lia | reflexivity |].
  rewrite E. destruct (done c k), (done d k); reflexivity.
Qed.

Lemma memory_rest c l a b : a <= b -> (forall i, a <= i < b -> done c i = false \/ forall v, effect i l v = v) ->
  memory c l b = memory c l a.
Proof.
  intros Hab. induction Hab as [|b Hab IH]; intros H; [reflexivity|]. simpl.
  rewrite IH by (intros i Hi; apply H; lia).
  destruct (H b) as [-> | E]; [lia | reflexivity |]. rewrite E. destruct (done c b); reflexivity.
Qed.

(** * What holds after every schedule *)

Record reached (s : state) (c : nat -> nat) : Prop := {
  inside : forall t, t < n -> c t <= N;
  as_in_step : forall t, t < n -> got s t = got (st (c t)) t;
  together : forall i g t u, i < N -> ev i = Together g -> member g t = true -> member g u = true -> i < c t -> i < c u;
  remembers : forall l, mem s l = memory c l N
}.

Lemma at_start : reached (st 0) (fun _ => 0).
Proof.
  split; intros; try lia; try reflexivity.
  symmetry. assert (H : forall k, memory (fun _ => 0) l k = mem (st 0) l).
  { induction k as [|k IH]; [reflexivity|]. simpl. unfold done. destruct (ev k) as [u|g]; exact IH. }
  apply H.
Qed.

(** What a thread does next, it does in step at its first event from its cut on. *)
Lemma finds s c t : reached s c -> t < n -> next s t <> Halt ->
  exists i, c t <= i < N /\ takes_part t (ev i) = true /\ (forall j, c t <= j < i -> takes_part t (ev j) = false)
    /\ got (st i) t = got s t.
Proof.
  intros R Ht Hn. pose proof (inside s c R t Ht) as Hc.
  destruct (first_from t (c t) Hc) as [(i & Hi & Hp & Hb) | Hnone].
  - exists i. repeat split; try lia; try assumption.
    rewrite (as_in_step s c R t Ht). apply unmoved_between; try lia. exact Hb.
  - exfalso. apply Hn. unfold next. rewrite (as_in_step s c R t Ht).
    rewrite <- (unmoved_between t (c t) N Hc (le_n N) Hnone). apply ends. exact Ht.
Qed.

(** The events of others that come later in step and are done already may be exchanged with the thread's next one … *)
Lemma later s c t i j u : reached s c -> t < n -> c t <= i -> ev i = Own t -> i < j < N -> ev j = Own u -> j < c u ->
  independent (next (st i) t) (next (st j) u).
Proof.
  intros R Ht Hi Ei Hj Ej Hd.
  assert (Hne : t <> u) by (intros ->; lia).
  destruct (ordered i j t u Hj Ei Ej Hne) as [H | (k & g & Hk & Ek & Mt & Mu)]; [exact H|].
  exfalso. assert (k < c t) by (apply (together s c R k g u t); auto; lia). lia.
Qed.

(** … and so may those that come earlier and are not done yet. *)
Lemma earlier s c t i j u : reached s c -> t < n -> i < N -> (forall k, c t <= k < i -> takes_part t (ev k) = false) ->
  ev i = Own t -> j < i -> ev j = Own u -> c u <= j -> independent (next (st j) u) (next (st i) t).
Proof.
  intros R Ht Hi Hb Ei Hj Ej Hd.
  assert (before : forall k, k < i -> takes_part t (ev k) = true -> k < c t).
  { intros k Hk Hp. destruct (lt_dec k (c t)) as [|Hge]; [assumption|]. rewrite Hb in Hp by lia. discriminate. }
  assert (Hne : u <> t).
  { intros ->. assert (j < c t); [|lia]. apply before; [exact Hj|]. rewrite Ej. simpl. apply Nat.eqb_refl. }
  destruct (ordered j i u t) as [H | (k & g & Hk & Ek & Mu & Mt)]; auto.
  exfalso. assert (k < c t) by (apply before; [lia|]; rewrite Ek; exact Mt).
  assert (k < c u) by (apply (together s c R k g t u); auto; lia). lia.
Qed.

Definition move (c : nat -> nat) (t i : nat) : nat -> nat := fun u => if u =? t then S i else c u.

Section Alone.
  Variables (s : state) (c : nat -> nat) (t i : nat).
  Hypothesis R : reached s c.
  Hypothesis Ht : t < n.
  Hypothesis Hi : c t <= i < N.
  Hypothesis Hb : forall j, c t <= j < i -> takes_part t (ev j) = false.
  Hypothesis Ei : ev i = Own t.

  Lemma own_done j : j <> i -> done (move c t i) j = done c j.
  Proof.
    intros Hj. unfold done, move. destruct (ev j) as [u|g] eqn:Ej; [|reflexivity].
    destruct (u =? t) eqn:Eu; [|reflexivity]. apply Nat.eqb_eq in Eu. subst u.
    destruct (Nat.ltb_spec j (S i)), (Nat.ltb_spec j (c t)); try reflexivity; try lia.
    exfalso. assert (Hp : takes_part t (ev j) = false) by (apply Hb; lia).
    rewrite Ej in Hp. simpl in Hp. rewrite Nat.eqb_refl in Hp. discriminate.
  Qed.

  Lemma own_fresh : done c i = false.
  Proof. unfold done. rewrite Ei. apply Nat.ltb_ge. lia. Qed.

  Lemma own_now : done (move c t i) i = true.
  Proof. unfold done, move. rewrite Ei, Nat.eqb_refl. apply Nat.ltb_lt. lia. Qed.

  Lemma own_inside u : u < n -> move c t i u <= N.
  Proof. intros Hu. unfold move. destruct (u =? t); [lia | apply (inside s c R u Hu)]. Qed.

  Lemma own_together j g u w : j < N -> ev j = Together g -> member g u = true -> member g w = true ->
    j < move c t i u -> j < move c t i w.
  Proof.
    intros Hj Ej Mu Mw. unfold move.
    assert (moved : member g t = true -> (j < S i <-> j < c t)).
    { intros Mt. split; intros H; [|lia]. destruct (lt_dec j (c t)) as [|Hge]; [assumption|].
      destruct (Nat.eq_dec j i) as [->|]; [rewrite Ei in Ej; discriminate|].
      assert (Hp : takes_part t (ev j) = false) by (apply Hb; lia). rewrite Ej in Hp. simpl in Hp. congruence. }
    pose proof (together s c R j g u w Hj Ej Mu Mw) as T.
    destruct (u =? t) eqn:Eu, (w =? t) eqn:Ew; try apply Nat.eqb_eq in Eu; try apply Nat.eqb_eq in Ew; subst; intros H.
    - exact H.
    - apply T. apply moved; assumption.
    - apply moved; [assumption|]. apply T. exact H.
    - apply T. exact H.
  Qed.

  (** What the thread reads is what it reads in step. *)
  Lemma reads_as_in_step l : next (st i) t = Read l -> mem s l = mem (st i) l.
  Proof.
    intros Ha. rewrite (remembers s c R l), (in_step l i) by lia.
    rewrite (memory_rest c l i N); [| lia |].
    - apply memory_same. intros j Hj. unfold done, effect. destruct (ev j) as [u|g] eqn:Ej; [|auto].
      destruct (Nat.ltb_spec j (c u)); [left; symmetry; apply Nat.ltb_lt; lia|]. right. intros v.
      pose proof (earlier s c t i j u R Ht (proj2 Hi) Hb Ei Hj Ej H) as I. rewrite Ha in I.
      destruct (next (st j) u) as [|k f| |]; try reflexivity. simpl in I. destruct (same_loc l k); congruence.
    - intros j Hj. destruct (Nat.eq_dec j i) as [->|]; [left; apply own_fresh|].
      unfold done, effect. destruct (ev j) as [u|g] eqn:Ej; [|auto].
      destruct (Nat.ltb_spec j (c u)); [|auto]. right. intros v.
      assert (Hij : i < j < N) by lia.
      pose proof (later s c t i j u R Ht (proj1 Hi) Ei Hij Ej H) as I. rewrite Ha in I.
      destruct (next (st j) u) as [|k f| |]; try reflexivity. simpl in I. destruct (same_loc l k); congruence.
  Qed.

  (** An update that comes now, after some that are later in step, has the effect that it has in its place. *)
  Lemma updates_as_in_step l : memory (move c t i) l N = effect i l (memory c l N).
  Proof.
    assert (H : forall b, S i <= b -> b <= N -> memory (move c t i) l b = effect i l (memory c l b)).
    { intros b Hbi. induction Hbi as [|b Hbi IH]; intros HN.
      - simpl. rewrite own_now, own_fresh. f_equal. apply memory_same. intros j Hj. left. apply own_done. lia.
      - simpl. rewrite own_done by lia. rewrite IH by lia. destruct (done c b) eqn:D; [|reflexivity].
        unfold done in D. unfold effect. rewrite Ei. destruct (ev b) as [u|g] eqn:Eb; [|discriminate].
        apply Nat.ltb_lt in D. assert (Hib : i < b < N) by lia.
        pose proof (later s c t i b u R Ht (proj1 Hi) Ei Hib Eb D) as I.
        destruct (next (st i) t) as [|k f| |]; try reflexivity.
        destruct (next (st b) u) as [|k' f'| |]; try reflexivity. simpl in I.
        destruct (same_loc l k), (same_loc l k'); try reflexivity. subst.
        destruct I as [I|I]; [congruence | symmetry; apply I]. }
    apply H; lia.
  Qed.
End Alone.

Lemma alone s c t s' : reached s c -> step s (Own t) s' -> exists i, i < N /\ ev i = Own t /\ c t <= i /\ reached s' (move c t i).
Proof.
  intros R Hs.
  assert (Hstep : t < n /\ next s t <> Halt /\ forall g x, next s t <> Meet g x).
  { inversion Hs as [u l s2 Hu Ha | u l f s2 Hu Ha |]; subst; rewrite Ha; repeat split; congruence. }
  destruct Hstep as (Ht & Hh & Hm).
  destruct (finds s c t R Ht Hh) as (i & Hi & Hp & Hb & Hg).
  assert (Hnext : next (st i) t = next s t) by (unfold next; rewrite Hg; reflexivity).
  assert (Ei : ev i = Own t).
  { pose proof (runs i (proj2 Hi)) as Hr. destruct (ev i) as [u|g] eqn:E; simpl in Hp.
    - apply Nat.eqb_eq in Hp. subst. reflexivity.
    - inversion Hr as [| | g' u s2 Hu Hall]; subst. destruct (Hall t Hp) as [x Hx]. rewrite Hnext in Hx. destruct (Hm g x Hx). }
  exists i. repeat split; try lia; try assumption.
  - intros u Hu. eapply own_inside; eassumption.
  - intros u Hu. pose proof (runs i (proj2 Hi)) as Hr. rewrite Ei in Hr.
    unfold move. destruct (u =? t) eqn:Eu.
    + apply Nat.eqb_eq in Eu. subst u.
      inversion Hs as [w l s2 Hw Ha Hgs Hms | w l f s2 Hw Ha Hgs Hms |]; subst;
        inversion Hr as [w2 l2 s3 Hw2 Ha2 Hgs2 Hms2 | w2 l2 f2 s3 Hw2 Ha2 Hgs2 Hms2 |]; subst;
        rewrite Hgs, Hgs2, Nat.eqb_refl, Hg; try congruence.
      rewrite Hnext, Ha in Ha2. injection Ha2 as <-. f_equal.
      eapply reads_as_in_step; try eassumption. congruence.
    + rewrite <- (as_in_step s c R u Hu).
      inversion Hs as [w l s2 Hw Ha Hgs Hms | w l f s2 Hw Ha Hgs Hms |]; subst; rewrite Hgs, Eu; reflexivity.
  - intros j g u w. eapply own_together; eassumption.
  - intros l. erewrite updates_as_in_step by eassumption. unfold effect. rewrite Ei, Hnext, <- (remembers s c R l).
    inversion Hs as [w k s2 Hw Ha Hgs Hms | w k f s2 Hw Ha Hgs Hms |]; subst; rewrite Ha, Hms; [reflexivity|].
    destruct (same_loc l k); reflexivity.
Qed.

Definition moves (c : nat -> nat) (g i : nat) : nat -> nat := fun u => if member g u then S i else c u.

Lemma meeting s c g s' : reached s c -> step s (Together g) s' ->
  exists i t, i < N /\ ev i = Together g /\ member g t = true /\ c t <= i /\ reached s' (moves c g i).
Proof.
  intros R Hs. inversion Hs as [| | g' t s2 Mt Hall Hgs Hms]; subst g' s2.
  assert (each : forall u, member g u = true -> exists i, c u <= i < N /\ ev i = Together g
     /\ (forall j, c u <= j < i -> takes_part u (ev j) = false) /\ got (st i) u = got s u).
  { intros u Mu. destruct (Hall u Mu) as [x Hx].
    destruct (finds s c u R (members g u Mu)) as (i & Hi & Hp & Hb & Hg); [congruence|].
    exists i. repeat split; try lia; try assumption.
    assert (Hnext : next (st i) u = Meet g x) by (unfold next; rewrite Hg; exact Hx).
    pose proof (runs i (proj2 Hi)) as Hr. destruct (ev i) as [w|g'] eqn:E; simpl in Hp.
    - apply Nat.eqb_eq in Hp. subst w.
      inversion Hr as [w l s3 Hw Ha | w l f s3 Hw Ha |]; congruence.
    - inversion Hr as [| | g2 w s3 Hw Hall2]; subst. destruct (Hall2 u Hp) as [y Hy]. congruence. }
  destruct (each t Mt) as (i & Hi & Ei & Hb & Hg).
  assert (all : forall u, member g u = true -> c u <= i /\ (forall j, c u <= j < i -> takes_part u (ev j) = false) /\ got (st i) u = got s u).
  { intros u Mu. destruct (each u Mu) as (j & Hj & Ej & Hbj & Hgj).
    assert (j = i) as ->; [|repeat split; try lia; assumption].
    destruct (lt_eq_lt_dec j i) as [[H|H]|H]; [exfalso | exact H | exfalso].
    - assert (j < c t); [|assert (j < c u) by (apply (together s c R j g t u); auto; lia); lia].
      destruct (lt_dec j (c t)) as [|Hge]; [assumption|]. assert (Hp : takes_part t (ev j) = false) by (apply Hb; lia).
      rewrite Ej in Hp. simpl in Hp. congruence.
    - assert (i < c u); [|assert (i < c t) by (apply (together s c R i g u t); auto; lia); lia].
      destruct (lt_dec i (c u)) as [|Hge]; [assumption|]. assert (Hp : takes_part u (ev i) = false) by (apply Hbj; lia).
      rewrite Ei in Hp. simpl in Hp. congruence. }
  assert (cut : forall u j, member g u = true -> j <> i -> takes_part u (ev j) = true -> (j < S i <-> j < c u)).
  { intros u j Mu Hne Hp. destruct (all u Mu) as (Hc & Hbu & _). split; intros H; [|lia].
    destruct (lt_dec j (c u)) as [|Hge]; [assumption|]. rewrite Hbu in Hp by lia. discriminate. }
  exists i, t. repeat split; try lia; try assumption.
  - intros u Hu. unfold moves. destruct (member g u); [lia | apply (inside s c R u Hu)].
  - intros u Hu. unfold moves. rewrite Hgs. destruct (member g u) eqn:Mu; [|apply (as_in_step s c R u Hu)].
    pose proof (runs i (proj2 Hi)) as Hr. rewrite Ei in Hr.
    inversion Hr as [| | g2 w s3 Hw Hall2 Hgs2 Hms2]; subst. rewrite Hgs2, Mu.
    destruct (all u Mu) as (_ & _ & ->). f_equal. f_equal. unfold offers. apply map_ext. intros a.
    destruct (member g a) eqn:Ma; [|reflexivity]. unfold next. destruct (all a Ma) as (_ & _ & ->). reflexivity.
  - intros j h u w Hj Ej Mu Mw. unfold moves. intros H.
    pose proof (together s c R j h u w Hj Ej Mu Mw) as T.
    destruct (Nat.eq_dec j i) as [->|Hne].
    + rewrite Ei in Ej. injection Ej as <-. rewrite Mw. lia.
    + assert (Pu : takes_part u (ev j) = true) by (rewrite Ej; exact Mu).
      assert (Pw : takes_part w (ev j) = true) by (rewrite Ej; exact Mw).
      assert (j < c w).
      { apply T. destruct (member g u) eqn:Gu; [apply (cut u j Gu Hne Pu); exact H | exact H]. }
      destruct (member g w) eqn:Gw; [apply (cut w j Gw Hne Pw); assumption | assumption].
  - intros l. rewrite Hms, (remembers s c R l). apply memory_same. intros j Hj. left.
    unfold done, moves. destruct (ev j) as [u|h] eqn:Ej; [|reflexivity].
    destruct (member g u) eqn:Mu; [|reflexivity].
    assert (Hne : j <> i) by (intros ->; congruence).
    assert (Pu : takes_part u (ev j) = true) by (rewrite Ej; simpl; apply Nat.eqb_refl).
    pose proof (cut u j Mu Hne Pu). destruct (Nat.ltb_spec j (c u)), (Nat.ltb_spec j (S i)); try reflexivity; lia.
Qed.

(** * Every schedule ends, and is never stuck before *)

Definition over (c : nat -> nat) (i : nat) : bool :=
  match ev i with Own t => i <? c t | Together g => existsb (fun t => member g t && (i <? c t)) (seq 0 n) end.

Fixpoint count (c : nat -> nat) (k : nat) : nat :=
  match k with 0 => 0 | S k => (if over c k then 1 else 0) + count c k end.

Lemma count_most c k : count c k <= k.
Proof. induction k as [|k IH]; simpl; [lia|]. destruct (over c k); lia. Qed.

Lemma count_more c d i k : (forall j, over c j = true -> over d j = true) -> over c i = false -> over d i = true -> i < k ->
  count c k < count d k.
Proof.
  intros Hm Hc Hd. assert (weak : forall k, count c k <= count d k).
  { induction k0 as [|k0 IH]; simpl; [lia|]. destruct (over c k0) eqn:E; [rewrite (Hm _ E); lia | destruct (over d k0); lia]. }
  induction k as [|k IH]; intros Hk; [lia|]. simpl. destruct (Nat.eq_dec i k) as [->|Hne].
  - rewrite Hc, Hd. specialize (weak k). lia.
  - assert (count c k < count d k) by (apply IH; lia). destruct (over c k) eqn:E; [rewrite (Hm _ E); lia | destruct (over d k); lia].
Qed.

Lemma over_together s c i g t : reached s c -> i < N -> ev i = Together g -> member g t = true -> over c i = (i <? c t).
Proof.
  intros R Hi Ei Mt. unfold over. rewrite Ei. destruct (existsb _ _) eqn:E.
  - apply existsb_exists in E. destruct E as (u & _ & H). apply andb_true_iff in H. destruct H as [Mu H].
    apply Nat.ltb_lt in H. symmetry. apply Nat.ltb_lt. apply (together s c R i g u t); auto.
  - symmetry. apply Nat.ltb_ge. destruct (le_lt_dec (c t) i) as [|H]; [assumption|]. exfalso.
    assert (existsb (fun t => member g t && (i <? c t)) (seq 0 n) = true); [|congruence].
    apply existsb_exists. exists t. split; [apply in_seq; specialize (members g t Mt); lia|].
    rewrite Mt. apply Nat.ltb_lt in H. rewrite H. reflexivity.
Qed.

Lemma over_mono c d : (forall t, c t <= d t) -> forall j, over c j = true -> over d j = true.
Proof.
  intros H j. unfold over. destruct (ev j) as [t|g].
  - intros E. apply Nat.ltb_lt in E. apply Nat.ltb_lt. specialize (H t). lia.
  - intros E. apply existsb_exists in E. destruct E as (u & Hu & E). apply andb_true_iff in E. destruct E as [Mu E].
    apply existsb_exists. exists u. split; [exact Hu|]. rewrite Mu. apply Nat.ltb_lt in E. apply Nat.ltb_lt. specialize (H u). lia.
Qed.

Lemma advances s c e s' : reached s c -> step s e s' -> exists d, reached s' d /\ count c N < count d N.
Proof.
  intros R Hs. destruct e as [t|g].
  - destruct (alone s c t s' R Hs) as (i & Hi & Ei & Hc & R'). exists (move c t i). split; [exact R'|].
    apply count_more with (i := i); try exact Hi.
    + apply over_mono. intros u. unfold move. destruct (u =? t) eqn:E; [apply Nat.eqb_eq in E; subst; lia | lia].
    + unfold over. rewrite Ei. apply Nat.ltb_ge. lia.
    + unfold over, move. rewrite Ei, Nat.eqb_refl. apply Nat.ltb_lt. lia.
  - destruct (meeting s c g s' R Hs) as (i & t & Hi & Ei & Mt & Hc & R'). exists (moves c g i). split; [exact R'|].
    apply count_more with (i := i); try exact Hi.
    + intros j Hj. destruct (Nat.eq_dec j i) as [->|Hne].
      * rewrite (over_together s c i g t R Hi Ei Mt) in Hj. apply Nat.ltb_lt in Hj. lia.
      * revert j Hj Hne. assert (grow : forall u, member g u = true -> c u <= i).
        { intros u Mu. destruct (le_lt_dec (c u) i) as [|H]; [assumption|].
          assert (i < c t) by (apply (together s c R i g u t); auto). lia. }
        intros j Hj _. revert j Hj. apply over_mono. intros u. unfold moves. destruct (member g u) eqn:Mu; [|lia].
        specialize (grow u Mu). lia.
    + rewrite (over_together s c i g t R Hi Ei Mt). apply Nat.ltb_ge. lia.
    + rewrite (over_together s' (moves c g i) i g t R' Hi Ei Mt). unfold moves. rewrite Mt. apply Nat.ltb_lt. lia.
Qed.

(** The first event of the run in step that is not over, if there is one. *)
Lemma first_open c k : (forall i, i < k -> over c i = true) \/ exists i, i < k /\ over c i = false /\ forall j, j < i -> over c j = true.
Proof.
  induction k as [|k [IH | (i & Hi & Ho & Hb)]]; [left; lia | |].
  - destruct (over c k) eqn:E.
    + left. intros i Hi. destruct (Nat.eq_dec i k) as [->|]; [exact E | apply IH; lia].
    + right. exists k. auto.
  - right. exists i. auto.
Qed.

Lemma caught_up s c t i : reached s c -> t < n -> i <= N -> c t <= i -> (forall j, j < i -> over c j = true) ->
  got s t = got (st i) t.
Proof.
  intros R Ht Hi Hc Hb. rewrite (as_in_step s c R t Ht). symmetry. apply unmoved_between; try assumption.
  intros j Hj. destruct (takes_part t (ev j)) eqn:Hp; [|reflexivity]. exfalso.
  assert (Ho : over c j = true) by (apply Hb; lia). destruct (ev j) as [u|g] eqn:Ej; simpl in Hp.
  - apply Nat.eqb_eq in Hp. subst u. unfold over in Ho. rewrite Ej in Ho. apply Nat.ltb_lt in Ho. lia.
  - rewrite (over_together s c j g t R) in Ho; try assumption; [apply Nat.ltb_lt in Ho; lia | lia].
Qed.

Lemma goes_on s c : reached s c -> (exists i, i < N /\ over c i = false) -> exists e s', step s e s'.
Proof.
  intros R (k & Hk & Ho). destruct (first_open c N) as [H | (i & Hi & Hoi & Hb)]; [rewrite H in Ho by exact Hk; discriminate|].
  pose proof (runs i Hi) as Hr. exists (ev i). destruct (ev i) as [t|g] eqn:Ei.
  - assert (Hc : c t <= i) by (unfold over in Hoi; rewrite Ei in Hoi; apply Nat.ltb_ge in Hoi; exact Hoi).
    inversion Hr as [u l s2 Hu Ha Hg Hm | u l f s2 Hu Ha Hg Hm |]; subst;
      assert (Hn : next s t = next (st i) t)
        by (unfold next; rewrite (caught_up s c t i R Hu (Nat.lt_le_incl _ _ Hi) Hc Hb); reflexivity);
      rewrite <- Hn in Ha.
    + exists {| got := fun u => if u =? t then mem s l :: got s t else got s u; mem := mem s |}.
      apply step_read with (l := l); auto.
    + exists {| got := fun u => if u =? t then tick :: got s t else got s u;
                mem := fun a => if same_loc a l then f (mem s a) else mem s a |}.
      apply step_update with (l := l) (f := f); auto.
  - inversion Hr as [| | g2 t s2 Mt Hall Hg Hm]; subst.
    exists {| got := fun u => if member g u then exchange g (offers s g) u :: got s u else got s u; mem := mem s |}.
    apply step_meet with (t := t); auto. intros u Mu. destruct (Hall u Mu) as [x Hx]. exists x. rewrite <- Hx. unfold next.
    rewrite (caught_up s c u i R (members g u Mu) (Nat.lt_le_incl _ _ Hi)); auto.
    rewrite (over_together s c i g u R Hi Ei Mu) in Hoi. apply Nat.ltb_ge in Hoi. exact Hoi.
Qed.

Lemma at_end s c : reached s c -> (forall i, i < N -> over c i = true) ->
  (forall t, t < n -> got s t = got (st N) t) /\ forall l, mem s l = mem (st N) l.
Proof.
  intros R H. split.
  - intros t Ht. apply (caught_up s c t N R Ht (le_n N) (inside s c R t Ht) H).
  - intros l. rewrite (remembers s c R l), (in_step l N) by lia. apply memory_same. intros i Hi. left.
    specialize (H i Hi). unfold over in H. unfold done. destruct (ev i) as [t|g]; [|reflexivity].
    rewrite H. symmetry. apply Nat.ltb_lt. exact Hi.
Qed.

(** A schedule: any [k] steps from the start. *)
Inductive schedule : nat -> state -> Prop :=
  | begin : schedule 0 (st 0)
  | go k s e s' : schedule k s -> step s e s' -> schedule (S k) s'.

Lemma schedule_reached k s : schedule k s -> exists c, reached s c /\ k <= count c N.
Proof.
  induction 1 as [|k s e s' Hk (c & R & Hc) Hs]; [exists (fun _ => 0); split; [apply at_start | lia]|].
  destruct (advances s c e s' R Hs) as (d & R' & Hd). exists d. split; [exact R' | lia].
Qed.

(** No schedule is longer than the run in step. Where it can go on, it is not at the end; where it cannot, every thread has halted, has got all
    that it gets in step, and memory is as it is in step. *)
Theorem any_schedule k s : schedule k s ->
  k <= N /\
  ((exists e s', step s e s') \/
   ((forall t, t < n -> got s t = got (st N) t /\ next s t = Halt) /\ forall l, mem s l = mem (st N) l)).
Proof.
  intros H. destruct (schedule_reached k s H) as (c & R & Hc). split; [pose proof (count_most c N); lia|].
  destruct (first_open c N) as [all | (i & Hi & Ho & _)].
  - right. destruct (at_end s c R all) as [Hg Hm]. split; [|exact Hm]. intros t Ht. split; [apply Hg; exact Ht|].
    unfold next. rewrite (Hg t Ht). apply ends. exact Ht.
  - left. apply (goes_on s c R). exists i. auto.
Qed.

End Block.

(** * The hypotheses can be met

    Two threads: each writes its cell, both meet, each reads the other's cell. *)

Section Example_.

Definition neighbours (t : nat) (h : list nat) : action nat nat :=
  match h with
  | [] => Update nat nat t (fun _ => t + 10)
  | [_] => Meet nat nat 0 0
  | [_; _] => Read nat nat (1 - t)
  | _ => Halt nat nat
  end.

Definition both (g t : nat) : bool := t <? 2.
Definition nothing (g : nat) (given : list nat) (t : nat) : nat := 0.
Definition events (i : nat) : event := nth i [Own 0; Own 1; Together 0; Own 0; Own 1] (Own 0).

Definition after (s : state nat nat) (e : event) : state nat nat :=
  match e with
  | Own t =>
      match neighbours t (got _ _ s t) with
      | Read _ _ l => {| got := fun u => if u =? t then mem _ _ s l :: got _ _ s t else got _ _ s u; mem := mem _ _ s |}
      | Update _ _ l f =>
          {| got := fun u => if u =? t then 0 :: got _ _ s t else got _ _ s u;
             mem := fun a => if Nat.eq_dec a l then f (mem _ _ s a) else mem _ _ s a |}
      | _ => s
      end
  | Together g => {| got := fun u => if both g u then 0 :: got _ _ s u else got _ _ s u; mem := mem _ _ s |}
  end.

Fixpoint states (i : nat) : state nat nat :=
  match i with 0 => {| got := fun _ => []; mem := fun _ => 0 |} | S i => after (states i) (events i) end.

Theorem neighbours_see_each_other k s :
  schedule nat nat Nat.eq_dec 0 2 neighbours both nothing states k s ->
  (exists e s', step nat nat Nat.eq_dec 0 2 neighbours both nothing s e s') \/
  (got _ _ s 0 = [11; 0; 0] /\ got _ _ s 1 = [10; 0; 0]).
Proof.
  intros H.
  destruct (any_schedule nat nat Nat.eq_dec 0 2 neighbours both nothing) with (N := 5) (ev := events) (st := states) (k := k) (s := s)
    as (_ & [Hgo | [Hend _]]).
  - intros g t Ht. apply Nat.ltb_lt. exact Ht.
  - intros i Hi. destruct i as [|[|[|[|[|i]]]]]; [| | | | | lia].
    + eapply step_update; reflexivity || lia.
    + eapply step_update; reflexivity || lia.
    + apply step_meet with (t := 0); try reflexivity. intros u Hu. unfold both in Hu. apply Nat.ltb_lt in Hu.
      destruct u as [|[|u]]; [exists 0; reflexivity | exists 0; reflexivity | lia].
    + eapply step_read; reflexivity || lia.
    + eapply step_read; reflexivity || lia.
  - intros t Ht. destruct t as [|[|t]]; [reflexivity | reflexivity | lia].
  - intros i j t u Hij Ei Ej Hne.
    destruct i as [|[|[|[|[|i]]]]]; try lia; destruct j as [|[|[|[|[|j]]]]]; try lia;
      try discriminate Ei; try discriminate Ej; injection Ei as <-; injection Ej as <-; try lia.
    + left. left. lia.
    + right. exists 2, 0. repeat split; lia.
    + right. exists 2, 0. repeat split; lia.
    + left. exact I.
  - exact H.
  - left. exact Hgo.
  - right. split; apply Hend; lia.
Qed.

End Example_.

Print Assumptions any_schedule.
Print Assumptions neighbours_see_each_other.
